/** The columns of the table of services. */
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
