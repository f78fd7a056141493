/** The style of the page: light and dark, and one column that fits any width, so that nothing scrolls sideways at 400 % zoom. */
export const pageStyle = `
:root{color-scheme:light dark;--paper:#fff;--ink:#1b1f24;--soft:#57606a;--line:#d0d7de;--box:#f6f8fa;--link:#0550ae;--add:#dafbe1;--cut:#ffebe9;--bad:#a40e26}
@media (prefers-color-scheme:dark){:root{--paper:#0d1117;--ink:#e6edf3;--soft:#9da7b3;--line:#3d444d;--box:#161b22;--link:#79c0ff;--add:#12361f;--cut:#4b1113;--bad:#ff9a94}}
*{box-sizing:border-box}
html{font:1rem/1.5 system-ui,sans-serif;background:var(--paper);color:var(--ink)}
body{margin:0 auto;padding:1rem;max-width:60rem;overflow-wrap:anywhere}
a{color:var(--link)}
:focus-visible{outline:.2rem solid var(--link);outline-offset:.1rem}
.skip{position:absolute;left:-100rem}.skip:focus{left:1rem;background:var(--paper);padding:.5rem}
h1{font-size:1.5rem;line-height:1.25;margin:.5rem 0}h2{font-size:1.15rem;margin:2rem 0 .5rem;border-top:1px solid var(--line);padding-top:1rem}
dl{display:grid;grid-template-columns:minmax(6rem,auto) 1fr;gap:.1rem 1rem;margin:.5rem 0}
dt{color:var(--soft)}dd{margin:0}
@media (max-width:24rem){dl{display:block}}
.end{border:1px solid var(--line);border-left:.3rem solid var(--link);padding:.5rem .75rem;background:var(--box);margin:.75rem 0}
.end.bad{border-left-color:var(--bad)}
details{margin:.4rem 0;content-visibility:auto;contain-intrinsic-size:auto 2.2rem}
summary{cursor:pointer;padding:.2rem .3rem}
summary .by{font-weight:600}summary .soft,.soft{color:var(--soft)}
.bad{color:var(--bad)}.end.bad{color:inherit}
.person{border-left:.3rem solid var(--link);padding-left:.6rem;background:var(--box)}
.answer{padding-left:.9rem}
.call,.thinking,.note,.check{border:1px solid var(--line);border-radius:.3rem}
.call>*:not(summary),.thinking>*:not(summary),.note>*:not(summary),.check>*:not(summary){margin:.4rem .6rem}
.agent{border-left:.2rem solid var(--line);padding-left:.6rem}
p,pre{white-space:pre-wrap;margin:.4rem 0}
pre,code{font:.875rem/1.45 ui-monospace,monospace;background:var(--box)}
pre{padding:.5rem;border-radius:.3rem}
.diff span{display:block;min-height:1.45em}.add{background:var(--add)}.cut{background:var(--cut)}.hunk{color:var(--soft)}
img{max-width:100%;height:auto}
nav ol{padding-left:1.5rem}
@media print{details{content-visibility:visible}}
`
