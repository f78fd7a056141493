// Images and PDFs that cannot be shown.

/** Advice about an image that is too large, after the problem. */
export const imageAdvice = 'Make it smaller, or install sharp (npm i sharp) to have images resized automatically.'
export const makeSmaller = 'Make it smaller.'
export const notImage = 'It is not a PNG, JPEG, GIF or WebP file.'
export const stillTooLarge = 'Resizing could not make it small enough.'
export const resizeFailed = (error: string): string => `Resizing failed: ${error}.`
export const pdfTooSlow = (seconds: number): string => `Reading it took longer than ${seconds} s.`
