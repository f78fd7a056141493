import { everyTool } from '../../src/tools/available-tools.ts'
import { noTool } from '../support/no-tool.ts'
import type { SamplesOf } from '../../../core/test/support/model-texts.ts'

export const samples: SamplesOf<typeof import('../../src/tools/search-texts.ts')> = {
  searchFailed: [['Grep', 'rg: regex parse error: unclosed group']],
  missingRoot: [['/project/scr', '/project', ' Similar names in that directory: src.']],
  specialRoot: [['/project/pipe']],
  rootIsFile: [
    ['/project/a.ts', everyTool],
    ['/project/a.ts', noTool],
  ],
  ripgrepNotStarted: [['spawn ENOENT']],
  ripgrepExit: [['2']],
  searchTimedOut: [[60_000]],
  searchIncomplete: [
    ['./private: Permission denied (os error 13)', 0],
    ['./private: Permission denied (os error 13)', 2],
  ],
  noFiles: [['src/*.tsx', '/project', ' Try Glob with {"pattern": "**/*.tsx"}.']],
  tryPattern: [
    ['**/*.tsx', undefined],
    ['**/*.tsx', '/project/src'],
  ],
  patternIsFolder: [['src', '/project/src']],
  filesCut: [[100, 523]],
  bracketsAsName: [[1], [4]],
  sameLookingFiles: [['"a\\u00a0b.txt"']],
  onlySameLooking: [['"a\\u00a0b.txt"']],
  noMatches: [
    ['TODO', '/project', '', ''],
    ['TODO', '/project', 'glob *.ts and type js', ' To search all files, leave out glob and type.'],
  ],
  tryOtherFolder: [['/project']],
  allSkipped: [[100]],
  useGlob: [['tsx']],
  resultsCut: [[250, 500]],
  globNote: [['Brackets were read as part of a name.']],
  noNameFitsGlob: [['"a\\u00a0b.txt", "a\\u202fb.txt"']],
  globSameLooking: [['"a\\u00a0b.txt"']],
  ignoredFiles: [[everyTool], [noTool]],
  escapeHint: [[everyTool], [noTool]],
}
