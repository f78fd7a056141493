import type { SamplesOf } from '../../../core/test/support/model-texts.ts'

export const samples: SamplesOf<typeof import('../../src/tools/input-texts.ts')> = {
  missingField: [['pattern', 'a string']],
  wrongField: [['offset', 'an integer >= 0', '-1']],
  unknownField: [['colour']],
  invalidInput: [['pattern is missing (a string)', 'Glob', 'pattern, path?']],
  expectedNumber: [[0]],
  expectedChoice: [['replace, insert, delete']],
  expectedList: [[100, 'content: a string']],
  loneSurrogate: [['new_string']],
}
