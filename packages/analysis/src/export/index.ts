// `@halting/analysis/export`: a session as Markdown, and as a page that needs nothing else.
export { htmlOf } from './html.ts'
export { markdownOf } from './markdown.ts'
