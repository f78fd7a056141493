import type { SamplesOf } from '../support/model-texts.ts'

export const samples: SamplesOf<typeof import('../../src/context/context-texts.ts')> = {
  charactersOmitted: [[12_000]],
  messagesOmitted: [[1], [3]],
  compactedHeading: [[40, '## Task\nFix the parser.']],
  currentState: [['src/parser.ts', 'export {}']],
  workSummary: [[12, 'The parser was fixed.']],
  summaryQuestion: [[''], ['Keep the error messages.']],
  workQuestionFor: [[3, 14, 40]],
  plainSummaryText: [
    ['the model wrote none', 12, ['- wrote: I fix the parser.', '- called Read {"file_path":"src/parser.ts"}']],
    ['the budget has no room for it', 0, []],
  ],
  wroteText: [['I fix the parser.']],
  calledTool: [['Read', '{"file_path":"src/parser.ts"}']],
  fullAgain: [[3, 3, 200_000]],
  fixedPartTooLarge: [
    [0, 190_000, 180_000],
    [1, 190_000, 180_000],
    [40, 190_000, 180_000],
  ],
  messageTooLarge: [[190_000, 150_000]],
}
