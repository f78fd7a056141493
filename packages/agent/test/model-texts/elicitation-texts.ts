import type { SamplesOf } from '../../../core/test/support/model-texts.ts'

export const samples: SamplesOf<typeof import('../../src/mcp/elicitation-texts.ts')> = {
  quoted: [['Your name?'], ['Which account '.repeat(30)]],
  questionUnanswered: [['crm', 'Your name?']],
  pageUnopened: [['crm', 'auth.example.com']],
  pagesRefused: [
    ['crm', ['auth.example.com'], 'declined'],
    ['crm', ['auth.example.com', 'pay.example.com'], 'no user'],
  ],
  pagesUnfinished: [['crm', ['auth.example.com']]],
  pagesUnusable: [['crm']],
}
