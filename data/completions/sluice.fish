# fish completion for sluice, which says itself what may follow: tools/text/completion.h has the lines of its answer.

function __sluice_complete
    set -l current (commandline -ct)
    set -l words (commandline -opc) "$current"
    for line in ($words[1] complete $words[2..-1] 2>/dev/null)
        switch $line
            case ':files'
                set -l before (string match -r '^--[^=]*=' -- $current)
                for path in (complete -C"'' "(string replace -- "$before" '' $current))
                    echo -- "$before$path"
                end
            case ':command *'
                set -l begin (string sub -s 10 -- $line)
                set -l rest (string escape -- $words[(math $begin + 1)..-2])
                complete -C(string join ' ' -- $rest $current)
            case '*'
                echo -- $line
        end
    end
end

complete -c sluice -f -a '(__sluice_complete)'
