import type { SamplesOf } from '../support/model-texts.ts'

export const samples: SamplesOf<typeof import('../../src/tools/schema-texts.ts')> = {
  moreCount: [[3]],
  wrongType: [
    [['string'], 'object'],
    [['string', 'null'], 'array'],
  ],
  notOneOf: [[['"content"', '"count"']]],
  notTheValue: [['"x"']],
  outOfRange: [
    [1, 'minimum'],
    [10, 'maximum'],
    [0, 'exclusiveMinimum'],
    [2, 'exclusiveMaximum'],
    [5, 'multipleOf'],
  ],
  wrongLength: [
    [1, 'least', 'character'],
    [5, 'most', 'item'],
  ],
  unknownField: [[['file_path', 'offset']], [[]]],
  outputInstruction: [['{"type":"object"}']],
  outputNotJson: [['Unexpected end of JSON input']],
  checkFailed: [['Invalid URL']],
}
