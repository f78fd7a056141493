import type { SamplesOf } from '../../../core/test/support/model-texts.ts'

const tool = 'mcp__search__web'

export const samples: SamplesOf<typeof import('../../src/web/web-search-texts.ts')> = {
  searchRequest: [['latest TypeScript release']],
  domainList: [[50]],
  longQuery: [[1_000]],
  searchedByTool: [[tool]],
  moreCharacters: [[12_000]],
  sourceLine: [
    ['Releases', 'https://example.com/releases'],
    ['https://example.com/', 'https://example.com/'],
  ],
  notSearched: [['The user turned web search off (setting webSearch).']],
  partlyDenied: [[['example.com']]],
  searchToolMissing: [[tool]],
  searchToolWithoutDomains: [[tool, 'blocked']],
  searchToolFailed: [[tool, 'timeout']],
  searchToolFoundDenied: [[tool]],
  nothingFoundBecause: [['The search was interrupted.']],
  searchFailed: [['overloaded_error']],
  serviceError: [
    ['max_uses_exceeded'],
    ['too_many_requests'],
    ['query_too_long'],
    ['invalid_input'],
    ['unavailable'],
    ['other_code'],
  ],
}
