// Rules: R-HOST-5, R-HOST-7.
import { expect, test } from 'vitest'
import { endHosts, host } from '../support/host.ts'
import { installProgram } from '../support/program.ts'

installProgram()
endHosts()

const minutes = 60_000
/** A thousand with HALTING_DEEP=all. */
const count = process.env['HALTING_DEEP'] === 'all' ? 1_000 : 300

test(
  `${count} runs in one process, each with its result`,
  async () => {
    const one = await host([{ content: 'Hello.', repeat: count }], { args: ['--no-session-persistence'] })
    await one.ask('initialize')
    for (let at = 0; at < count; at++) {
      const { result, num_turns: turns } = await one.say('hi', { uuid: `m${at}` })
      expect({ result, turns }).toEqual({ result: 'Hello.', turns: 1 })
    }
    const { status, lines } = await one.end()
    expect(status).toBe(0)
    expect(lines.filter(({ subtype }) => subtype === 'init')).toHaveLength(count)
  },
  5 * minutes,
)
