"""What a wheel says of itself: its names, licences, classifiers and long description (scripts/wheel.py)."""
import re

# PyPI has another project under the command's own name.
DISTRIBUTION = "sluice-cuda"
FILE_NAME = DISTRIBUTION.replace("-", "_")
CLASSIFIERS = (
    "Development Status :: 3 - Alpha",
    "Environment :: Console",
    "Environment :: GPU :: NVIDIA CUDA :: 12",
    "Intended Audience :: Developers",
    "Intended Audience :: Science/Research",
    "Operating System :: POSIX :: Linux",
    "Programming Language :: C",
    "Programming Language :: Python :: 3",
    "Topic :: Scientific/Engineering :: Artificial Intelligence",
    "Topic :: System :: Hardware",
)
# Of the code that is in the wheel's files, by Debian's package that it comes from. In the files themselves:
LINKED = {
    "libunwind": "Apache-2.0 WITH LLVM-exception",
    "libzstd-dev": "BSD-3-Clause",
    "liblz4-dev": "BSD-2-Clause",
    "libxxhash-dev": "BSD-2-Clause",
    "libopenblas-pthread-dev": "BSD-3-Clause",
}
# Beside them, as libraries:
COPIED = {
    "libdw1": "(LGPL-3.0-or-later OR GPL-2.0-or-later)",
    "libelf1": "(LGPL-3.0-or-later OR GPL-2.0-or-later)",
    "zlib1g": "Zlib",
    "liblzma5": "LicenseRef-Public-Domain",
    "libbz2-1.0": "bzip2-1.0.6",
    "libncursesw6": "X11-distribute-modifications-variant",
    "libtinfo6": "X11-distribute-modifications-variant",
}


def licence_expression(packages):
    """SPDX, for ours and the packages' licences. KeyError: a package whose licence is not known here."""
    return " AND ".join(dict.fromkeys(["Apache-2.0"] + [(LINKED | COPIED)[package] for package in packages]))


def long_description(readme, url, version):
    """The README, whose links lead into the repository at the version's tag; without `url` they are plain text."""
    def link(match):
        image, text, target = match.groups()
        if re.match(r"[a-z]+:|#", target):
            return match[0]
        return f"{image}[{text}]({url}/{'raw' if image else 'blob'}/v{version}/{target})" if url else "" if image else text

    # The package index shows pictures of one colour scheme.
    readme = re.sub(r'(?s)<picture>.*?<img alt="([^"]*)" src="([^"]*)">\s*</picture>', r"![\1](\2)", readme)
    return re.sub(r"(!?)\[([^\]]*)\]\(([^)]+)\)", link, readme)


def metadata(version, url, licence, licence_files, readme):
    urls = {"Homepage": url, "Documentation": f"{url}/blob/v{version}/docs/README.md", "Changes": f"{url}/blob/v{version}/NEWS"} if url else {}
    lines = ["Metadata-Version: 2.4", f"Name: {DISTRIBUTION}", f"Version: {version}",
             "Summary: More device memory for unmodified CUDA training programs than the GPU has",
             "Keywords: cuda,gpu,memory,training,pytorch",
             *(f"Project-URL: {name}, {target}" for name, target in urls.items()),
             f"License-Expression: {licence}", *(f"License-File: {name}" for name in licence_files),
             *(f"Classifier: {classifier}" for classifier in CLASSIFIERS),
             "Requires-Python: >=3.9", "Description-Content-Type: text/markdown"]
    return "\n".join(lines) + "\n\n" + long_description(readme, url, version)
