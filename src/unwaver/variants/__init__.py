"""Items to groups, one idea each; shared by suites and by `unwaver build`.

A *builder* makes groups from the labelled items of a task; a *rewriter* makes other texts from a text, and
`paired` turns what it writes into groups. What cannot be changed safely is refused with a reason, never mangled.
"""
