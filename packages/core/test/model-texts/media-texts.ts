import type { SamplesOf } from '../support/model-texts.ts'

export const samples: SamplesOf<typeof import('../../src/model/media/media-texts.ts')> = {
  unsupportedImage: [
    ['image/bmp', ['image/png', 'image/jpeg']],
    ['in an unknown format (declared as image/png)', ['image/png', 'image/jpeg']],
  ],
  unknownImageType: [['image/png']],
  imageTypeMismatch: [['image/png', 'image/jpeg']],
  imageTooWide: [[9_000, 100, 8_000, 'Make it smaller.']],
  imageTooLarge: [['6 MB', '5 MB', 'Make it smaller.']],
  pdfTooLong: [[120, 100]],
  documentTooLarge: [['30 MB', '28 MB']],
  tooManyImages: [[100]],
  tooManyBytes: [[28]],
  tooManyPages: [[100]],
  largeAmongMany: [[20, 2_000]],
}
