/** Minimum length of a quote in characters. A run of white space counts as one. */
export const minQuoteLength = 20
/** Maximum number of quotes in a verdict. */
export const maxQuotes = 10
