"""The heap meter from outside: the processes under it, what they hold and how that grows, and the endpoint."""
