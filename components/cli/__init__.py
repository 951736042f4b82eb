"""The command `waymark`: one module per group of subcommands, which parses arguments and prints results.

Each module has `add(commands)`, which registers its subcommands; `main` lists the modules. A subcommand sets `run` to a
function from the parsed options to the exit status. Imports of the library are inside of these functions, so that
`waymark --help` answers at once.
"""
