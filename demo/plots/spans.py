"""The figure of an answer's place: for each token, the probability that the answer starts or ends there."""

import plotly.graph_objects as go

from demo.language import _, number
from demo.plots.template import AMBER, INK, categories, template
from models.outputs.encoders import QuestionAnsweringOutput

_NAMED_TOKENS = 48


def span_probabilities(output: QuestionAnsweringOutput) -> go.Figure:
    """Bars over the tokens of the best window, up for starts, down for ends; the first token stands for "no answer"."""
    names = categories(output.tokens)
    top = max(*output.start_probabilities, *output.end_probabilities, 0.01)
    ticks = [top, 0, -top]
    bars = [
        {
            "type": "bar",
            "name": name,
            "x": names,
            "y": [sign * round(value, 6) for value in values],
            "customdata": [round(value, 6) for value in values],
            "marker": {"color": colour, "line": {"width": 0}},
            "hovertemplate": f"{told}<extra></extra>",
        }
        for name, told, sign, colour, values in (
            ("start", _("“%{x}” as the start: %{customdata:.1%}"), 1, INK, output.start_probabilities),
            ("end", _("“%{x}” as the end: %{customdata:.1%}"), -1, AMBER, output.end_probabilities),
        )
    ]
    layout = {
        "template": template(),
        "height": 230,
        "barmode": "relative",
        "bargap": 0.1,
        "xaxis": {
            "type": "category",
            "tickangle": -60,
            "tickfont": {"size": 11},
            **({"tickmode": "array", "tickvals": names} if len(names) <= _NAMED_TOKENS else {}),
        },
        "yaxis": {
            "range": [-1.08 * top, 1.08 * top],
            "tickvals": ticks,
            "ticktext": [number(abs(tick), ".0%") for tick in ticks],
            "zeroline": True,
            "zerolinewidth": 1,
            "zerolinecolor": "rgba(127,127,127,0.6)",
            "title": {"text": _("end · start")},
        },
    }
    return go.Figure(data=bars, layout=layout)
