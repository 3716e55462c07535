"""Prints the notices that the licences of a command's dependencies require.

usage: notice.py PACKAGE TARGET

The dependencies are those in the binary: not those for tests and builds. Texts that several
crates share are printed once.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

# Linked too, but no packages of cargo.
RUNTIME = """\
Rust standard library: MIT OR Apache-2.0, by the contributors to the Rust project
musl (in the static binary): MIT, by Rich Felker, and others
"""

NAMES = re.compile(r"(licen[cs]e|copying|notice|copyright|unlicense)", re.IGNORECASE)


def is_macro(entry):
    """Says whether a package runs in the compiler, and so is not in the binary."""
    return any("proc-macro" in target["kind"] for target in entry["targets"])


def dependencies(package, target):
    """Returns the packages of other people that `package` is linked with."""
    command = ["cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", target]
    metadata = json.loads(subprocess.check_output(command))
    packages = {entry["id"]: entry for entry in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    members = set(metadata["workspace_members"])
    (start,) = (i for i in members if packages[i]["name"] == package)
    seen, waiting = set(), [start]
    while waiting:
        current = waiting.pop()
        if current in seen:
            continue
        seen.add(current)
        if is_macro(packages[current]):
            continue
        for dependency in nodes[current]["deps"]:
            if any(kind["kind"] is None for kind in dependency["dep_kinds"]):
                waiting.append(dependency["pkg"])
    foreign = (packages[i] for i in seen - members if not is_macro(packages[i]))
    return sorted(foreign, key=lambda entry: (entry["name"], entry["version"]))


def choices(entry):
    """Returns the licences of which one is enough."""
    return re.split(r" OR |/", entry["license"] or "")


def offers_mit(entry):
    """Says whether MIT alone is enough. With parentheses, `AND` may ask for another one, too."""
    licence = entry["license"] or ""
    return "MIT" in choices(entry) and not (" AND " in licence and "(" in licence)


def texts(entry):
    """Returns the texts of licences and notices that a package brings, of all its folders."""
    folder = Path(entry["manifest_path"]).parent
    found = [path for path in folder.rglob("*") if path.is_file() and NAMES.match(path.name)]
    found = [path for path in found if path.suffix in ("", ".txt", ".md", ".rst")
             or NAMES.match(path.suffix[1:]) or path.suffix[1:].isupper()]
    # Of several licences to choose from, the one with the shortest text is enough.
    if "MIT" in choices(entry) and any("mit" in path.name.lower() for path in found):
        found = [path for path in found if "apache" not in path.name.lower()]
    named = entry.get("license_file")
    if named and (folder / named) not in found and (folder / named).is_file():
        found.append(folder / named)
    return [path.read_text(errors="replace").strip() for path in sorted(found)]


def main():
    package, target = sys.argv[1:]
    print(f"{package} contains the following libraries. Their licences require these notices.\n")
    print(RUNTIME, end="")
    users = {}
    for entry in dependencies(package, target):
        name = f"{entry['name']} {entry['version']}"
        authors = ", ".join(re.sub(r" *<[^>]*>", "", author) for author in entry["authors"])
        by = f", by {authors}" if authors else ""
        print(f"{name}: {entry['license'] or 'see its text'}{by}")
        own = texts(entry)
        if not own and not offers_mit(entry):
            sys.exit(f"notice.py: {name} brings no text of its licence, {entry['license']}, and "
                     "does not offer MIT: add the text from its repository to notice.py")
        if not own:
            print("  The crate brings no text. That of MIT below holds, with these authors.")
        for text in own:
            # Copies differ in spaces and line ends only.
            users.setdefault(" ".join(text.split()), (text, []))[1].append(name)
    mit = Path(__file__).parent.parent.joinpath("LICENSE-MIT").read_text()
    permission = mit[mit.index("Permission"):].strip()
    print(f"\n{'-' * 80}\nThe text of MIT, for those above that bring none\n\n{permission}")
    for text, names in users.values():
        print(f"\n{'-' * 80}\n{', '.join(dict.fromkeys(names))}\n\n{text}")


main()
