"""People who rate, write and answer: what a job asks of them, who gets what, and what they said.

    JOB.toml -> Job -> cards -> queue -> replies -> agreement, groups, labels, answers

This room has no web in it: pages are in unwaver.web, and human/JOB, in unwaver.models.human, reads the replies.
"""
