"""Results as something to read: terminal, Markdown, one offline HTML page, figures. Formatting only.

Nothing here computes a measure or decides a verdict; a number that a page shows stands in the
`Comparison` it was made from. The one exception is the principal plane on which the picture of
the points is drawn (`samespace.report.plane`), and that picture decides nothing.

The modules are imported one by one, because what a plain ``print(result)`` needs
(`samespace.report.terminal`) must not pay for jinja2, rich or matplotlib.
"""
