// Holds R-READS-2a of docs/spec: no text refers a model to a tool that it may not have: such advice depends on the tools of the caller.
import { expect, test } from 'vitest'
import { textsFiles, textsOfFile } from '../../core/test/support/model-texts.ts'

const tools =
  'Read|Write|Edit|apply_patch|Bash|Glob|Grep|TaskOutput|TaskStop|TaskCreate|TaskUpdate|Wait|NotebookEdit|WebFetch|AskUserQuestion|ExitPlanMode|Skill'
const advice = new RegExp(String.raw`\b(?:use|try|call|with|in|to|by|the tool) (${tools})\b(?! of)`, 'gi')

/** Texts of a tool that name the tool itself, and texts that are used only if the tool is available. */
const fitting: Readonly<Record<string, readonly string[]>> = {
  Read: ['moreLines', 'morePages', 'cellRange', 'changedMeanwhile', 'readToCopy', 'omittedNote', 'completeOutputNote', 'mentionCut'], // prettier-ignore
  Glob: ['tryPattern', 'patternIsFolder', 'noFiles', 'notFoundAnywhere'],
  Bash: ['searchByBash'],
  Wait: ['noProgressReminder'],
  TaskOutput: ['backgroundControls'],
  TaskStop: ['backgroundControls', 'stoppedByTool'],
  TaskCreate: ['unknownTasks'],
  WebFetch: ['redirectsElsewhere'],
  AskUserQuestion: ['someoneAnswers'],
  ExitPlanMode: ['alreadyPlanning', 'planModeWords'],
  Skill: ['skillListHead'],
}

test('names no other tool in a text that is independent of tools', async () => {
  const files = await textsFiles()
  const named = files.flatMap((file) =>
    [...textsOfFile(file, () => false)].flatMap(([name, text]) =>
      [...text.matchAll(advice)].flatMap(([, tool = '']) =>
        fitting[tool]?.includes(name) === true || !tools.split('|').includes(tool) ? [] : [`${name}: ${tool}`],
      ),
    ),
  )
  expect([...new Set(named)]).toEqual([])
})
