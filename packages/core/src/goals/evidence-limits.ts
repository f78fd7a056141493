/** Characters that a quote has at least, with runs of white space as one. */
export const leastQuote = 20
/** Quotes of a verdict at most. */
export const mostQuotes = 10
