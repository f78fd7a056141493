/** What the page of a report has beside the look that all pages share. */
export const reportStyle = `
table{border-collapse:collapse;width:100%;margin:.5rem 0;font-variant-numeric:tabular-nums}
caption{text-align:left;color:var(--soft);padding:.2rem .3rem}
th,td{padding:.2rem .5rem;text-align:right;border-bottom:1px solid var(--line);vertical-align:top;white-space:nowrap}
th{color:var(--soft);font-weight:400}
td:first-child,th:first-child,td.words,th.words{text-align:left}
th[scope=row]{color:inherit;text-align:left;white-space:normal;min-width:9rem}
.wide{overflow-x:auto}
.wide:focus-visible{outline-offset:-.1rem}
svg{width:100%;min-width:30rem;max-width:45rem;height:auto;display:block;margin:.5rem 0}
svg text{font:12px system-ui,sans-serif;fill:var(--ink);dominant-baseline:central}
svg .name{text-anchor:end;fill:var(--soft)}
svg .one{fill:var(--link)}svg .two{fill:var(--bad)}
ul{padding-left:1.2rem}li{margin:.3rem 0}
main section{margin-top:1.5rem}
@media print{svg{break-inside:avoid}tr{break-inside:avoid}}
`
