/** What a table of services has a column for. */
export const columns = [
  'text',
  'tools',
  'parallel calls',
  'reasoning carried over',
  'images',
  'PDFs',
  'cache',
  'structured output',
  'web search',
  'abort',
  'errors',
  'money',
] as const

export type Column = (typeof columns)[number]
