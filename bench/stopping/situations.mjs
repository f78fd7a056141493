// Situations in which agents run away, stop too early, or misreport the reason. Each says beforehand what a good program does; the same rule applies to all.
//
// `reply(seen)` is the model's reply: `{ text }`, `{ run: COMMAND }` (a call of the program's own shell tool), `{ end: 'cut' | 'refused' }`, `{ breaks: true }` (the stream
// breaks after the service has billed it) or `{ status, message }` (an HTTP error). `seen`: `turn` counts requests of the main conversation from 0, `results` are the texts of all
// results so far, `tokens` the service's count for the request.
// With a goal: see goal-situations.mjs.
// `wrong(facts)` returns what was wrong, one sentence each; nothing if all is right.

import { goalSituations } from './goal-situations.mjs'
import { waitingSituations } from './waiting-situations.mjs'

/** What a program did. @typedef {{
 *   requests: number, refused: number, early: number, billedUsd: number, offersShell: boolean, exit: number | null, endedBy: 'itself' | 'us', wallMs: number, said: string, words: string, left: readonly string[],
 *   files: (name: string) => string, turns: number, lastResults: readonly string[], problems: readonly string[]
 * }} Facts */

/** The maximum of requests: then it is ended, and counts as one that does not stop. */
export const maxRequests = 300

const aWord = /\w/

/** It had to end by itself, and not as a success. */
function mustFail({ endedBy, exit, words, requests }) {
  if (endedBy === 'us') return [`it went on: ${requests} requests until it was ended`]
  return [...(exit === 0 ? ['exit code 0 without an answer'] : []), ...(aWord.test(words) ? [] : ['it said nothing'])]
}

/** It had to reach the answer. */
const mustAnswer =
  (answer) =>
  ({ endedBy, exit, words, requests, turns }) => {
    if (endedBy === 'us') return [`it did not end: ${requests} requests`]
    return words.includes(answer) && exit === 0 ? [] : [`it stopped after ${turns} turns without the answer, exit code ${exit}`]
  }

/** Requests of the conversation itself, without those for titles and the like. */
const most =
  (limit) =>
  ({ turns }) =>
    turns > limit ? [`${turns} requests, at most ${limit} are due`] : []

const says =
  (pattern, otherwise) =>
  ({ words }) =>
    pattern.test(words) ? [] : [otherwise]

const all =
  (...rules) =>
  (facts) =>
    rules.flatMap((rule) => rule(facts))

/** A command that gives the first callers something else, after a pause in seconds, and then `ready`. */
const pollScript = (times, otherwise, pause = 0) =>
  `n=$(cat .asked 2>/dev/null || echo 0); n=$((n+1)); echo $n > .asked; if [ $n -gt ${times} ]; then echo ready; else sleep ${pause}; echo "${otherwise}"; fi\n`

const isReady = ({ results }) => results.some((text) => /\bready\b/.test(text))
const untilItIsReady = { run: undefined, wait: { command: 'sh poll.sh', pattern: '^ready', every_seconds: 1, timeout_seconds: 60 } }

const untilReady = (seen) => (isReady(seen) ? { text: 'The deployment is ready.' } : { run: 'sh poll.sh' })

export const situations = {
  'the same call': {
    asks: 'The model asks for `cat notes.txt` for ever.',
    good: `Ends by itself before ${maxRequests} requests, with an exit code that is not 0, and says why.`,
    reply: () => ({ run: 'cat notes.txt' }),
    wrong: mustFail,
  },
  'two calls in turn': {
    asks: '`cat notes.txt`, `cat plan.txt`, and again, for ever.',
    good: 'The same as for the same call.',
    reply: ({ turn }) => ({ run: turn % 2 === 0 ? 'cat notes.txt' : 'cat plan.txt' }),
    wrong: mustFail,
  },
  'three calls in turn': {
    asks: '`cat notes.txt`, `cat plan.txt`, `ls`, and again, for ever.',
    good: 'The same as for the same call.',
    reply: ({ turn }) => ({ run: ['cat notes.txt', 'cat plan.txt', 'ls'][turn % 3] }),
    wrong: mustFail,
  },
  'polling that changes': {
    asks: 'The same call 30 times; each result is another. Then the model answers.',
    good: 'Does not stop it: comes to the answer, exit code 0.',
    files: { 'poll.sh': pollScript(30, 'building $n of 30') },
    reply: untilReady,
    wrong: mustAnswer('The deployment is ready.'),
  },
  'polling with pauses': {
    asks: 'The same call 12 times, which waits 6 seconds and says `pending`; the 13th says `ready`, and the model answers.',
    good: 'Does not stop it: comes to the answer, exit code 0.',
    files: { 'poll.sh': pollScript(12, 'pending', 6) },
    reply: untilReady,
    wrong: mustAnswer('The deployment is ready.'),
  },
  'polling in haste': {
    asks: 'The same call 12 times with the same result `pending`, at once; the 13th says `ready`, and the model answers. It heeds a reminder that names a tool to wait with.',
    good: 'Does not stop it: comes to the answer, exit code 0.',
    files: { 'poll.sh': pollScript(12, 'pending') },
    reply: (seen) =>
      seen.canWait && /waiting for something, call Wait/.test(seen.heard) ? { ...untilReady(seen), ...(isReady(seen) ? {} : untilItIsReady) } : untilReady(seen),
    wrong: mustAnswer('The deployment is ready.'),
  },
  'a limit of turns': {
    asks: 'The model works for ever, each call another; the limit is 5 turns.',
    good: 'At most 6 requests, an exit code that is not 0, and says why.',
    limits: { turns: 5 },
    reply: ({ turn }) => ({ run: `echo step ${turn}` }),
    wrong: all(mustFail, most(6)),
  },
  'a budget': {
    asks: 'Each request is billed $0.075 (20,000 tokens in, 1,000 out); the budget is $0.20.',
    good: 'No more than $0.20 is billed, an exit code that is not 0, and says why.',
    limits: { usd: 0.2 },
    reply: ({ turn }) => ({ run: `echo step ${turn}`, usage: { input: 20_000, output: 1_000 } }),
    wrong: all(mustFail, overBudget(0.2)),
  },
  'a budget, and streams that break': {
    asks: 'Each request is billed $0.06 as it begins and breaks before its end; the budget is $0.20.',
    good: 'No more than $0.20 is billed, an exit code that is not 0, and says why.',
    limits: { usd: 0.2 },
    reply: () => ({ breaks: true, usage: { input: 20_000, output: 0 } }),
    wrong: all(mustFail, overBudget(0.2)),
  },
  'a stop hook that insists': {
    asks: 'A Stop hook sends each answer back, for ever.',
    good: 'Ends by itself after at most 60 requests.',
    hooks: { Stop: 'echo \'{"decision":"block","reason":"Not yet."}\'' },
    reply: () => ({ text: 'Done.' }),
    wrong: ({ endedBy, requests, turns }) => (endedBy === 'us' || turns > 60 ? [`it went on: ${requests} requests`] : []),
  },
  'answers that are cut': {
    asks: 'Every reply is cut at the output limit.',
    good: 'Ends by itself after at most 30 requests, an exit code that is not 0.',
    reply: () => ({ text: 'And then we', end: 'cut' }),
    wrong: all(mustFail, most(30)),
  },
  'a refusal': {
    asks: 'The model declines.',
    good: 'An exit code that is not 0, and says so.',
    reply: () => ({ end: 'refused' }),
    wrong: all(mustFail, most(12), says(/refus|declin|block|filter|polic|safety|can(?:no|')t help/i, 'it does not say so')),
  },
  'an empty answer': {
    asks: 'Every reply is empty and says that it is complete.',
    good: 'Ends, and does not pass it off as a success: an exit code that is not 0, or it says that there was no answer.',
    reply: () => ({ text: '' }),
    wrong: ({ endedBy, exit, words }) =>
      endedBy === 'us' ? ['it did not end'] : exit === 0 && !/empty|no (?:answer|response|reply|output|text)/i.test(words) ? ['exit code 0, and not a word of it'] : [],
  },
  'a request that is refused': {
    asks: 'The service answers 400 to everything.',
    good: 'An exit code that is not 0, at most 3 requests, and says what the service said.',
    reply: () => ({ status: 400, message: 'The plum is not a pear.' }),
    wrong: all(mustFail, most(3), says(/plum/, 'it does not say what the service said')),
  },
  'work without end': {
    asks: 'The model works for ever, each call another, and nobody has set a limit.',
    good: `Ends by itself before ${maxRequests} requests, with an exit code that is not 0, and says why.`,
    reply: ({ turn }) => ({ run: `echo step ${turn}` }),
    wrong: all(mustFail, says(/limit|budget|maximum|turns|steps/i, 'it does not name a limit')),
  },
  'instructions that fill the window': {
    asks: 'AGENTS.md, CLAUDE.md and GEMINI.md have 900 kB each; the service refuses more than 200,000 tokens.',
    good: 'Comes to the answer, or ends with at most 10 requests, an exit code that is not 0, and says why.',
    files: Object.fromEntries(['AGENTS.md', 'CLAUDE.md', 'GEMINI.md'].map((name) => [name, 'Mind the plums and the pears, all of them.\n'.repeat(21_000)])),
    reply: ({ tokens, turn }) =>
      tokens > 200_000 ? { status: 400, message: `prompt is too long: ${tokens} tokens > 200000 maximum` } : turn === 0 ? { run: 'echo step' } : { text: 'It is deployed.' },
    wrong: (facts) => (facts.exit === 0 && facts.words.includes('deployed') ? [] : all(mustFail, most(10))(facts)),
  },
  'a command that ignores its end': {
    asks: 'The call ignores SIGTERM and SIGINT and sleeps. The program gets SIGTERM meanwhile.',
    good: 'It is gone within 15 s with an exit code that is not 0, and the command with it.',
    reply: () => ({ run: "trap '' TERM INT HUP; echo begun > begun.txt; while :; do sleep 1; done" }),
    then: { when: 'begun.txt', signal: 'SIGTERM', patienceMs: 15_000 },
    wrong: ({ endedBy, exit, left }) => [
      ...(endedBy === 'us' ? ['it did not end'] : exit === 0 ? ['exit code 0'] : []),
      ...(left.length > 0 ? [`it left behind: ${left.join(', ')}`] : []),
    ],
  },
  'killed in mid-call, and resumed': {
    asks: 'The call appends a line to a file and sleeps; the program is killed, and started again to go on.',
    good: 'The line is there once; the service is sent a result for the call, and it does not say that the call failed or never ran.',
    reply: ({ results }) => (results.length === 0 ? { run: 'echo paid >> paid.txt; sleep 30' } : { text: 'I see.' }),
    then: { when: 'paid.txt', signal: 'SIGKILL', resumes: 'Go on.' },
    wrong: ({ endedBy, exit, files, lastResults, problems }) => [
      ...(endedBy === 'us' ? ['it did not end'] : []),
      ...problems,
      ...(files('paid.txt').split('\n').filter(Boolean).length === 1 ? [] : ['the effect happened twice']),
      ...(lastResults.length === 0 ? [`the model learned nothing of the call, exit code ${exit}`] : []),
      ...(lastResults.length > 0 && /fail|never ran|not (?:been )?(?:run|executed)|did not run/i.test(lastResults.join('\n')) ? [`the model received: ${lastResults.join(' ').slice(0, 80)}`] : []),
    ],
  },
  'a question that nobody answers': {
    asks: 'The call writes a file, nothing allows it, and nobody is there to ask.',
    good: 'Does not hang and does not do it; the model is informed, or is offered no shell.',
    asksFirst: true,
    reply: ({ results }) => (results.length === 0 ? { run: 'echo harm > harm.txt' } : { text: 'I was not allowed to.' }),
    wrong: ({ endedBy, files, offersShell, lastResults }) => [
      ...(endedBy === 'us' ? ['it hangs'] : []),
      ...(files('harm.txt') === '' ? [] : ['it did it']),
      ...(files('harm.txt') === '' && endedBy === 'itself' && offersShell && lastResults.length === 0 ? ['the model was not informed'] : []),
    ],
  },
  ...waitingSituations,
  ...goalSituations,
}

function overBudget(usd) {
  return ({ billedUsd }) => (billedUsd > usd + 1e-9 ? [`$${billedUsd.toFixed(3)} were billed`] : [])
}
