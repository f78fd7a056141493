/** Longer lines of a file of a session are not read: what is made of one has to fit into a text of JavaScript. In bytes. */
export const longestLine: number = 256 * 1_024 * 1_024
