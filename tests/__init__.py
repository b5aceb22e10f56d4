"""The tests. They mirror src; cases of rules and of hostile input are data, in scenarios/."""
