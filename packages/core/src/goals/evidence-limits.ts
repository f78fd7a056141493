/** Minimum length of a quote in characters, with runs of white space as one. */
export const minQuoteLength = 20
/** Maximum number of quotes in a verdict. */
export const maxQuotes = 10
