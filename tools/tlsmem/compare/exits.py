"""How a comparison ends: exit statuses, and what cannot be compared. Standard library only."""

UNCHANGED, NOTHING, CHANGED, SKIP = 0, 1, 3, 125  # exit statuses; SKIP: of git bisect, a commit that cannot be judged
BAD = 1  # of git bisect
