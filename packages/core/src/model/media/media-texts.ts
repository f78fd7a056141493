// Problems of images and documents, for models and people.

export const unsupportedImage = (type: string, accepted: readonly string[]): string =>
  `The image is ${type}; ${accepted.join(', ')} are accepted. Convert it.`
export const undeclaredType = 'of no type'
export const unknownImageType = (declared: string): string => `in an unknown format (declared as ${declared})`
export const imageTypeMismatch = (declared: string, actual: string): string =>
  `The image is declared as ${declared}, but its content is ${actual}.`
export const imageTooWide = (width: number, height: number, limit: number, advice: string): string =>
  `The image is ${width}x${height} px; at most ${limit}x${limit} are accepted. ${advice}`
export const imageTooLarge = (size: string, limit: string, advice: string): string =>
  `The image has ${size} encoded; at most ${limit} are accepted. ${advice}`
export const notPdf = 'The document is declared as application/pdf, but its content is not a PDF.'
export const pdfTooLong = (pages: number, limit: number): string =>
  `The PDF has ${pages} pages; at most ${limit} are accepted. Send a part of it.`
export const documentTooLarge = (size: string, limit: string): string =>
  `The document has ${size} encoded; at most ${limit} are accepted. Send a part of it.`
export const sizeAdvice = 'Make it smaller.'

// Why an older image or document was removed.

export const tooManyImages = (limit: number): string => `a request takes at most ${limit} images`
export const tooManyBytes = (megabytes: number): string =>
  `the images and documents of a request may have at most ${megabytes} MB together`
export const tooManyPages = (limit: number): string => `a request takes at most ${limit} pages of PDF`
export const largeAmongMany = (images: number, px: number): string =>
  `a request with more than ${images} images takes none over ${px} px`
