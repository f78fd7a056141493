// Mutations of the question to verify a change: when it is asked, what it leaves alone, and what is known of it later.
// [name, test files that check the promise, [file, text in it, replacement]...]
const verify = 'loop/verify.ts'
export const promisesOfVerification = [
  ['verification: subagents are asked', ['verification/verify'], [verify, 'identity.depth > 0 || ', '']],
  ['verification: asked under an output schema', ['verification/verify'], [verify, 'settings.output !== null || ', '']],
  [
    'verification: asked under goals',
    ['verification/verify'],
    [verify, 'settings.output !== null || spent.goal !== undefined', 'settings.output !== null'],
  ],
  [
    'verification: asked in plan mode',
    ['verification/verify'],
    [verify, 'if (permissions.isPlanning?.(settings.permissionMode ?? undefined) === true) return false\n  ', ''],
  ],
  [
    'verification: asked with no turn for the answer',
    ['verification/verify'],
    [verify, "iterationsLeft('next_turn', laps, limits) >= 2", "iterationsLeft('next_turn', laps, limits) >= 1"],
  ],
  [
    'verification: asked with no call of a tool left',
    ['verification/verify'],
    [verify, ' && toolCalls < settings.maxToolCalls', ''],
  ],
  ['verification: asked again behind an approval', ['verification/verify'], [verify, 'askedAt === undefined && ', '']],
  [
    'verification: asked about any line',
    ['verification/verify'],
    ['verification/verification.ts', 'minUncheckedLines = 3', 'minUncheckedLines = 1'],
  ],
  [
    'verification: a check that passed changes nothing',
    ['verification/file-work'],
    ['verification/progress.ts', 'hasJustPassed ? 0 : unchecked + changedLines', 'unchecked + changedLines'],
  ],
  [
    'verification: a check that failed counts',
    ['verification/file-work'],
    ['verification/progress.ts', 'work.check?.passed === true', 'work.check !== undefined'],
  ],
  [
    'verification: what agents did is forgotten',
    ['verification/verify'],
    [
      'run/enter-agent.ts',
      '  noteFileWorkOfAgent(run, child.verification, changedAtStart)\n',
      '  void [noteFileWorkOfAgent, changedAtStart]\n',
    ],
  ],
  [
    'verification: a check of an agent counts for what was changed beside it',
    ['verification/verify'],
    [
      'tool-calls/run-call.ts',
      '  const changedAtStart = verification?.changed ?? 0\n',
      '  const changedAtStart = (verification?.changed ?? 0) + 1000\n',
    ],
  ],
  [
    'verification: the reply is held against stop hooks',
    ['verification/verify'],
    ['loop/after-answer.ts', 'isAnswerUnderVerification(run) ? verificationReplyStages : answerStages', 'answerStages'],
  ],
  [
    'verification: asked before the token target',
    ['verification/verify'],
    ['loop/after-answer.ts', '  tokenTarget,\n  verification,\n', '  verification,\n  tokenTarget,\n'],
  ],
  [
    'verification: what the question ran into ends the run',
    ['verification/verify'],
    [
      'loop/decide.ts',
      'const effectiveEnding = withUnverifiedAnswer(run, pendingEnding)',
      'const effectiveEnding = pendingEnding',
    ],
  ],
  [
    'verification: an abort of a person leaves the answer',
    ['verification/verify'],
    [
      verify,
      "signal.reason === 'user_requested' || !isAnswerUnderVerification(run)",
      '!isAnswerUnderVerification(run)',
    ],
  ],
  [
    'verification: an abort while checks are named is forgotten',
    ['verification/verify'],
    [
      verify,
      "return pendingEnding?.signal.reason === 'user_requested' ? endWith(pendingEnding) : undefined",
      'return undefined',
    ],
  ],
  [
    'verification: the time ends a run that has its answer',
    ['verification/verify'],
    [
      verify,
      "pendingEnding?.signal.reason === 'user_requested' ? endWith(pendingEnding)",
      'pendingEnding !== undefined ? endWith(pendingEnding)',
    ],
  ],
  [
    'verification: goals that are set later do not count',
    ['verification/verify'],
    [verify, 'hasCalledNone && spent.goal === undefined && ', 'hasCalledNone && '],
  ],
  [
    'verification: a reply that is cut is lost',
    ['verification/verify'],
    [verify, '...(pendingEnding.appendOmitted !== undefined && { appendOmitted: pendingEnding.appendOmitted })', ''],
  ],
  [
    'verification: a reply that is finished takes the place of the answer',
    ['verification/verify'],
    [verify, "if (isAnswerUnderVerification(run)) appendPreservingAnswer(run, text, 'loop')\n  else ", ''],
  ],
  [
    'verification: goals that hold are no check',
    ['verification/verify'],
    [verify, 'verified === false && isGoalMet(spent) ? true : verified', 'verified'],
  ],
  [
    'verification: a run with approvals knows nothing of changes',
    ['verification/verify'],
    ['api/start.ts', ',\n      ...verificationField(options.verification),\n    }', ' }'],
  ],
  [
    'verification: a run that goes on knows nothing of changes',
    ['verification/verify'],
    ['api/start.ts', '    verification: carriedVerification(verification),\n', ''],
  ],
  [
    'verification: hooks read the reply as the answer',
    ['verification/verify'],
    ['hooks/agent-state.ts', 'const end = endOfAnswer(transcript)', 'const end = transcript.length'],
  ],
  [
    'verification: results have the reply as the answer',
    ['verification/verify'],
    [
      'sdk/result-message.ts',
      'transcript.lastReply(startLength, endOfAnswer(transcript, startLength))',
      'transcript.lastReply(startLength)',
    ],
  ],
  [
    'verification: a person gets the answer of before',
    ['verification/file-work', 'verification/verify'],
    [
      'conversation/verified-answer.ts',
      "else if (entry.origin === 'tool_results' || isOfPerson(entry)) return false",
      'else if (isOfPerson(entry)) continue',
    ],
    [
      'conversation/verified-answer.ts',
      "else if (entry.origin === 'tool_results' || isOfPerson(entry)) break",
      'else if (isOfPerson(entry)) continue',
    ],
  ],
  [
    'verification: a call of a tool leaves the answer',
    ['verification/file-work'],
    ['conversation/verified-answer.ts', 'isHookAnswered || entry.message.content.some(isToolUse)', 'isHookAnswered'],
  ],
  [
    'verification: a hook that asks to go on gets nothing',
    ['verification/verify'],
    ['conversation/verified-answer.ts', 'if (isHookAnswered || entry', 'if (entry'],
  ],
].map(([name, tests, ...changes]) => ({ name: String(name), tests, changes }))
