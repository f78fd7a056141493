// `@halting/analysis/export`: a session as Markdown, and as a self-contained HTML page.
export { htmlOf } from './html.ts'
export { markdownOf } from './markdown.ts'
