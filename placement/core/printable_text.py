"""Text of others, such as provider names, for terminals and log lines."""


def printable(text: str) -> str:
    r"""Return the text in one line, with the characters escaped that control a terminal.

    >>> printable("cn1\x1b[31m\nship\u00e9")
    'cn1\\x1b[31m\\nshipé'
    """
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)


def printable_lines(text: str) -> str:
    r"""Return the text with its lines, each of them printable.

    >>> printable_lines("cn1\x07\ncn2")
    'cn1\\x07\ncn2'
    """
    return "\n".join(map(printable, text.split("\n")))
