// Situations in which a program can only wait: for a service, for a process, for a time. As in situations.mjs, and also:
// `trouble`: after a number of turns, the service refuses everything for a while, with this status. `says`: it names the duration.
// `waits`: the program may wait for its service, if that must be configured. `loop`: the prompt is to be repeated, up to a number of times.
// `reply` may return `{ wait: INPUT }`, a call of the tool by which the model waits; `seen.canWait`: the program offers one.

const mustAnswer =
  (answer) =>
  ({ endedBy, exit, words, turns, requests }) => {
    if (endedBy === 'us') return [`it did not end: ${requests} requests`]
    return words.includes(answer) && exit === 0 ? [] : [`it stopped after ${turns} turns without the answer, exit code ${exit}`]
  }

const all =
  (...rules) =>
  (facts) =>
    rules.flatMap((rule) => rule(facts))

const refusedAtMost =
  (most) =>
  ({ refused }) =>
    refused > most ? [`${refused} requests were refused, at most ${most} are due`] : []

const inTime = ({ early }) => (early > 0 ? [`${early} requests before the time that the service said`] : [])
const inWords = ({ words }) => (/wait|retr|again|limit|overload|unavailable/i.test(words) ? [] : ['not a word of it'])
const deployed = 'The deployment is ready.'

/** One step, and the answer after the trouble. */
const stepThenAnswer = ({ results }) => (results.length === 0 ? { run: 'cat notes.txt' } : { text: deployed })

export const waitingSituations = {
  'a rate limit of one minute': {
    asks: 'Behind the first turn the service answers 429 for 60 seconds, and says with `retry-after` how many of them are left.',
    good: 'Comes to the answer, exit code 0; asks no earlier than the service said, is refused at most 3 times, and says that it waits.',
    waits: true,
    trouble: { behind: 1, forMs: 60_000, status: 429, says: true },
    reply: stepThenAnswer,
    wrong: all(mustAnswer(deployed), inTime, refusedAtMost(3), inWords),
  },
  'an outage of 30 seconds': {
    asks: 'Behind the first turn the service answers 503 for 30 seconds, and does not say how long.',
    good: 'Comes to the answer, exit code 0; is refused at most 20 times, and says so.',
    waits: true,
    trouble: { behind: 1, forMs: 30_000, status: 503, says: false },
    reply: stepThenAnswer,
    wrong: all(mustAnswer(deployed), refusedAtMost(20), inWords),
  },
  'a process that must be waited for': {
    asks: 'The call starts a process of 60 seconds. The model waits for its file with the tool that the program has for that, or else calls `sleep 5; cat built.txt` until it is there.',
    good: 'Comes to the answer, exit code 0.',
    files: { 'build.sh': 'sleep 60; echo built > built.txt\n' },
    reply({ results, canWait }) {
      if (results.length === 0) return { run: 'setsid sh build.sh > /dev/null 2>&1 < /dev/null & echo started' }
      if (results.some((text) => /\bbuilt\b(?!\.)/.test(text))) return { text: deployed }
      if (canWait && results.length === 1) return { wait: { file_path: 'built.txt', timeout_seconds: 120 } }
      return { run: `${canWait ? '' : 'sleep 5; '}cat built.txt 2> /dev/null || echo pending` }
    },
    wrong: mustAnswer(deployed),
  },
  'a loop with a goal': {
    asks: 'A deployment comes about 15 seconds after the start. The prompt is repeated every 2 seconds, 20 times at most, until `test -f deployed.txt` exits 0; the model looks, and says that it is not there.',
    good: 'Ends as a success once the goal holds, after at most 60 requests.',
    files: { 'deploy.sh': 'sleep 15; echo yes > deployed.txt\n' },
    loop: { every: '2s', rounds: 20, until: 'test -f deployed.txt' },
    reply: ({ results }) =>
      results.length === 0 ? { run: 'setsid sh deploy.sh > /dev/null 2>&1 < /dev/null & ls' } : { text: 'Not yet.' },
    wrong: ({ endedBy, exit, turns, files }) => [
      ...(endedBy === 'us' ? ['it did not end'] : exit === 0 ? [] : [`exit code ${exit}`]),
      ...(files('deployed.txt') === '' ? ['it ended before the goal held'] : []),
      ...(turns > 60 ? [`${turns} requests, at most 60 are due`] : []),
    ],
  },
}
