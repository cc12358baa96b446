# bash completion for sluice, which says itself what may follow: tools/text/completion.h has the lines of its answer.

_sluice() {
    local current=${COMP_WORDS[COMP_CWORD]} word help begin
    COMPREPLY=()
    while IFS=$'\t' read -r word help; do
        case $word in
        :files)
            [[ $current == = ]] && current=
            compopt -o filenames 2>/dev/null
            while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -f -- "$current")
            ;;
        ":command "*)
            begin=${word#:command }
            if declare -F _command_offset >/dev/null; then
                _command_offset "$begin"
            elif ((COMP_CWORD == begin)); then
                while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -c -- "$current")
            else
                compopt -o filenames 2>/dev/null
                while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -f -- "$current")
            fi
            ;;
        *) COMPREPLY+=("$word") ;;
        esac
    done < <("${COMP_WORDS[0]}" complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _sluice sluice
