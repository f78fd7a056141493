// Mutations of judged goals: what a quote has to be before a verdict counts.
// [name, test files that check the promise, [file, text in it, replacement]...]
export const promisesOfJudges = [
  [
    'judge: a verdict without quotes counts',
    ['goals/judged-goal'],
    ['goals/judged-goal.ts', 'if (quotes.length === 0) return [noQuote]\n', ''],
  ],
  [
    'judge: one quote that counts is enough',
    ['goals/judged-goal'],
    ['goals/judged-goal.ts', 'if (refusals.length === 0)', 'if (refusals.length < quotes.length)'],
  ],
  [
    'judge: it is asked where nothing may be quoted',
    ['goals/judged-goal'],
    ['goals/judged-goal.ts', 'if (evidence.isEmpty)', 'if (evidence.isEmpty && evidence.results.length < 0)'],
  ],
  [
    'judge: it is asked until it gives a verdict',
    ['goals/judged-goal'],
    ['goals/judged-goal.ts', 'asked >= maxQuestions ||', 'asked > maxQuestions ||'],
  ],
  [
    'judge: a reply whose stream broke is a verdict',
    ['goals/judged-goal'],
    ['goals/judged-goal.ts', 'reply.streamError === null ?', 'reply.streamError !== undefined ?'],
  ],
  [
    'judge: two verdicts are one',
    ['goals/judged-goal'],
    ['goals/judge-question.ts', 'read.length === 1 ? read[0] : undefined', 'read[0]'],
    ['goals/judge-question.ts', 'text.slice(start, end + 1)', "text.slice(start, text.indexOf('}') + 1)"],
  ],
  [
    'judge: the mark of a question can be known',
    ['goals/judged-goal'],
    ['goals/judge-question.ts', 'digestOf(all, link)', "digestOf('', link)"],
    ['goals/judge-question.ts', 'if (!all.includes(mark))', 'if (link >= 0)'],
  ],
  [
    'judge: results before the last change count',
    ['goals/judged-goal'],
    ['goals/evidence.ts', 'at < fresh.at || (at === fresh.at && index < fresh.index)', 'at < fresh.at'],
  ],
  [
    'judge: results before the prompt count',
    ['goals/judged-goal'],
    ['goals/evidence.ts', 'for (let at = prompt;', 'for (let at = Math.min(0, prompt);'],
  ],
  [
    'judge: what was typed in between makes a quote longer',
    ['goals/judged-goal'],
    ['goals/evidence.ts', "passage.replaceAll(/\\s+/g, ' ').trim()", 'passage'],
    ['goals/evidence-limits.ts', 'const minQuoteLength = 20', 'const minQuoteLength = 12'],
  ],
  [
    'judge: a quote that the model wrote counts',
    ['goals/model-written-quotes'],
    [
      'goals/evidence.ts',
      'if (this.#modelText.containsWhole(letters))',
      'if (letters.length < 0 && this.#modelText.containsWhole(letters))',
    ],
  ],
  [
    'judge: a quote with a part that the model wrote counts',
    ['goals/model-written-quotes'],
    ['goals/evidence.ts', 'if (shared !== undefined)', "if (shared === '')"],
  ],
  [
    'judge: a quote of pieces of inputs counts',
    ['goals/model-written-quotes'],
    ['goals/evidence.ts', 'return count < minNewLetters ?', 'return count < 0 ?'],
  ],
  [
    'judge: what base64 comes to is not read',
    ['goals/model-written-quotes'],
    ['goals/model-text.ts', "if (decoded !== '')", "if (decoded === '')"],
  ],
  [
    'judge: thoughts of the model are none of its words',
    ['goals/model-written-quotes'],
    ['goals/model-text.ts', 'texts.push(block.thinking)', "texts.push('')"],
  ],
].map(([name, tests, ...changes]) => ({ name: String(name), tests, changes }))
