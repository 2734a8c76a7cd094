"""What people look at: a report in one file, tables for papers, pictures.

source.py     any run folder, table or log -> answers, groups and scores
verdict.py    scores -> sentences for someone who has one minute
explorer.py   answers -> columns that a browser filters
methods.py    how each number was computed
pictures.py   figures -> SVG, PNG, PDF
tables.py     scores -> Markdown, LaTeX, csv
page.py       all of it in one HTML file that runs nothing but its own script
"""
