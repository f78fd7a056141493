import type { SamplesOf } from '../../../core/test/support/model-texts.ts'

const head = 'https://example.com/page (200, text/html)'

export const samples: SamplesOf<typeof import('../../src/web/web-fetch-texts.ts')> = {
  pageQuestion: [['Which version is the latest?', 'page-1f0c', '# Releases\n\n4.2.0']],
  pageAnswered: [[head, '4.2.0']],
  pageUnanswered: [[head, 'The budget does not allow asking a model about the page', '# Releases']],
  readerFailed: [['overloaded_error']],
  charactersLeftOut: [[120_000]],
  cutAfterBytes: [[10_485_760]],
  pdfProblem: [['Reading PDFs needs unpdf, which is not installed (npm i unpdf).']],
  notText: [
    ['application/zip', 4_096],
    ['', 4_096],
  ],
  urlRefused: [['ftp://example.com', 'only https:// and http:// URLs can be fetched']],
  tooSlow: [[30]],
  tooManyRedirects: [[5]],
  redirectRefused: [['https://example.com/', 'http://localhost/', 'it leads to this machine or a private network']],
  redirectsElsewhere: [['https://example.com/', 'https://www.example.org/']],
  longUrl: [[2_000]],
}
