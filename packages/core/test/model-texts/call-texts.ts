import type { SamplesOf } from '../support/model-texts.ts'

const agent = 'The agent reviewer (Review the diff)'

export const samples: SamplesOf<typeof import('../../src/tool-calls/call-texts.ts')> = {
  invalidInput: [['Read', 'file_path is missing. Its fields are file_path, offset?, limit?']],
  fieldsOfTool: [[['file_path', 'offset?', 'limit?']]],
  inputChangedByHook: [['Invalid input for Read: file_path is missing. Nothing was run.']],
  unknownTool: [
    ['Grap', ['Glob', 'Grep', 'Read']],
    ['Grap', []],
  ],
  invalidArguments: [
    [
      'Write',
      {
        kind: 'cut',
        at: 30,
        character: '',
        before: '{"path":"a.ts","text":"one\\ntw',
        expected: 'the closing quote of a string',
      },
      '{"path":"a.ts","text":"one\\ntw',
      30,
    ],
    ['Write', { kind: 'invalid', at: 8, character: '}', before: '{"path":', expected: 'a value' }, '{"path":}', 9],
    ['Write', 'not_an_object', '["a.ts"]', 8],
    ['Write', 'refused', '{"path":"a.ts"}', 15],
  ],
  callLimitReached: [[30], [1]],
  toolAsks: [['SendMoney']],
  toolAsksAfterError: [['SendMoney', 'the limits could not be read']],
  notAllowedInAgent: [['No rule allows Write on a.ts.']],
  noAgentsAtDepth: [[2]],
  agentLimitReached: [
    [10, 'run', false],
    [1, 'agent', true],
  ],
  agentStarted: [
    ['agent_1f2e3d4c', 'wait'],
    ['agent_1f2e3d4c', 'stop'],
  ],
  agentStoppedEarly: [['cost_limit: Reached maximum budget ($1)']],
  lastTextOfAgent: [
    ['The bug is in parser.ts.', 8_000],
    ['The bug is in parser.ts.', 10],
  ],
  lastResultOfAgent: [['3 of 40 tests fail', 2_000]],
  agentEnd: [
    [agent, 'ended'],
    [agent, 'failed'],
    [agent, 'stopped'],
  ],
  lostAgentEnd: [[agent]],
}
