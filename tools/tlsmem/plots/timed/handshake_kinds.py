"""Full handshakes and resumed ones of one suite: what they are called in pictures."""

KINDS = {"": "full", "-id": "resumed by session id", "-ticket": "resumed by ticket"}  # by the end of a suite's name


def resumption_suffix(suite: str) -> str:
    return next((end for end in KINDS if end and suite.endswith(end)), "")


def base_suite(suite: str) -> str:
    """The suite without its resumption."""
    return suite.removesuffix(resumption_suffix(suite))
