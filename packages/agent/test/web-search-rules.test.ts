// Holds rules of docs/spec: R-SEARCH-25 to R-SEARCH-30: permission rules about searches.
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createPermissions, parseRules, type PermissionOptions } from '@halting/policy'
import type { PermissionRequest } from '@halting/core'
import { createWebSearchTool, Workspace } from '@halting/agent'

const tool = createWebSearchTool(new Workspace({ cwd: '/project' }))
const request = (input: object, over: Partial<PermissionRequest> = {}): PermissionRequest => ({
  call: { type: 'tool_use', id: 'a', name: 'WebSearch', input: { query: 'x', ...input } },
  tool,
  readOnly: true,
  ...over,
})

type Rules = Partial<Omit<PermissionOptions, 'cwd'>>
const under = async (rules: Rules, input: object = {}) =>
  (await createPermissions({ cwd: '/project', ...rules }).decide(request(input))).behavior

describe('rules about searches', () => {
  test.each<[Rules, object, string]>([
    [{}, {}, 'ask'],
    [{ allow: ['WebSearch'] }, {}, 'allow'],
    [{ allow: ['WebSearch'] }, { allowed_domains: ['a.com'] }, 'allow'],
    [{ allow: ['WebSearch(domain:*)'] }, {}, 'allow'],
    [{ allow: ['WebSearch(domain:a.com)'] }, {}, 'ask'],
    [{ allow: ['WebSearch(domain:a.com)'] }, { blocked_domains: ['b.com'] }, 'ask'],
    [{ allow: ['WebSearch(domain:a.com)'] }, { allowed_domains: [] }, 'ask'],
    [{ allow: ['WebSearch(domain:a.com)'] }, { allowed_domains: ['a.com'] }, 'allow'],
    [{ allow: ['WebSearch(domain:a.com)'] }, { allowed_domains: ['A.com.'] }, 'allow'],
    [{ allow: ['WebSearch(domain:a.com)'] }, { allowed_domains: ['docs.a.com'] }, 'allow'],
    [{ allow: ['WebSearch(domain:a.com)'] }, { allowed_domains: ['not-a.com'] }, 'ask'],
    [{ allow: ['WebSearch(domain:docs.a.com)'] }, { allowed_domains: ['a.com'] }, 'ask'],
    [{ allow: ['WebSearch(domain:*.a.com)'] }, { allowed_domains: ['a.com'] }, 'ask'],
    [{ allow: ['WebSearch(domain:*.a.com)'] }, { allowed_domains: ['x.y.a.com'] }, 'allow'],
    [{ allow: ['WebSearch(domain:a.com)'] }, { allowed_domains: ['a.com', 'b.com'] }, 'ask'],
    [
      { allow: ['WebSearch(domain:a.com)', 'WebSearch(domain:b.com)'] },
      { allowed_domains: ['a.com', 'b.com'] },
      'allow',
    ],
    [{ allow: ['WebFetch(domain:a.com)', 'WebFetch'] }, { allowed_domains: ['a.com'] }, 'ask'],
    [{ allow: ['WebSearch'], deny: ['WebSearch'] }, {}, 'deny'],
    [{ allow: ['WebSearch'], deny: ['WebSearch(domain:*)'] }, { allowed_domains: ['a.com'] }, 'deny'],
    [{ allow: ['WebSearch'], deny: ['WebSearch(domain:a.com)'] }, {}, 'allow'],
    [{ allow: ['WebSearch'], deny: ['WebSearch(domain:a.com)'] }, { allowed_domains: ['x.a.com'] }, 'deny'],
    [{ allow: ['WebSearch'], deny: ['WebSearch(domain:a.com)'] }, { allowed_domains: ['a.com', 'b.com'] }, 'allow'],
    [{ allow: ['WebSearch'], ask: ['WebSearch(domain:a.com)'] }, {}, 'ask'],
    [{ allow: ['WebSearch'], ask: ['WebSearch(domain:a.com)'] }, { blocked_domains: ['a.com'] }, 'allow'],
    [{ allow: ['WebSearch'], ask: ['WebSearch(domain:x.a.com)'] }, { allowed_domains: ['a.com'] }, 'ask'],
    [{ allow: ['WebSearch'], ask: ['WebSearch(domain:a.com)'] }, { allowed_domains: ['b.com'] }, 'allow'],
    [{ allow: ['WebSearch'], ask: ['WebSearch(domain:api-*.a.com)'] }, { allowed_domains: ['a.com'] }, 'ask'],
    [{ mode: 'plan', allow: ['WebSearch'] }, {}, 'allow'],
    [{ mode: 'plan' }, {}, 'ask'],
    [{ mode: 'acceptEdits' }, {}, 'ask'],
    [{ mode: 'dontAsk' }, {}, 'deny'],
    [{ mode: 'bypassPermissions' }, {}, 'allow'],
    [{ mode: 'bypassPermissions', deny: ['WebSearch(domain:a.com)'] }, { allowed_domains: ['a.com'] }, 'deny'],
    [{ whenAsked: 'deny' }, {}, 'deny'],
  ])('%j and %j: %s', async (rules, input, expected) => {
    expect(await under(rules, input)).toBe(expected)
  })

  test.each([
    ['WebSearch(domain:https://a.com/)', 'a host name without https://, port and path'],
    ['WebSearch(domain:a.com/docs)', 'a host name'],
    ['WebSearch(domain:a.com:443)', 'a host name'],
    ['WebFetch(domain:https://a.com)', 'a host name'],
    ['WebFetch(domain:a.com/)', 'a host name'],
    ['WebSearch(a.com)', 'WebSearch takes domain:name'],
    ['WebSearch(domain:)', 'WebSearch takes domain:name'],
    ['WebSearch(domain:mün*.de)', 'not a valid host name'],
    ['WebSearch(domain:a..de)', 'not a valid host name'],
  ])('rejects %s', (rule, why) => {
    expect(() => parseRules({ deny: [rule] }, '/project')).toThrow(why)
  })

  test('in letters of any script match the name as it is resolved', async () => {
    const allow = ['WebSearch(domain:münchen.de)']
    expect(await under({ allow }, { allowed_domains: ['xn--mnchen-3ya.de'] })).toBe('allow')
    expect(await under({ allow }, { allowed_domains: ['MÜNCHEN.de'] })).toBe('allow')
  })

  test('suggest what would allow a search, which works', async () => {
    const permissions = createPermissions({ cwd: '/project' })
    expect(await permissions.decide(request({}))).toEqual({
      behavior: 'ask',
      message: 'no rule allows searching the web. The rule WebSearch would allow it.',
    })
    expect(await permissions.decide(request({ allowed_domains: ['a.com', 'b.com'] }))).toMatchObject({
      message:
        'no rule allows searching a.com, b.com. The rules WebSearch(domain:a.com), WebSearch(domain:b.com) would allow it.',
    })
    expect(permissions.remedyFor(request({ allowed_domains: ['a.com'] }))).toEqual({ rules: ['WebSearch(domain:a.com)'] })
    expect(permissions.suggest?.(request({}))).toMatchObject([{ rules: [{ toolName: 'WebSearch' }] }])
  }) // prettier-ignore

  test('include the rules of the searching server', async () => {
    const by = (rules: Rules) => under({ searchTool: 'mcp__find__web', ...rules })
    expect(await by({})).toBe('ask')
    expect(await by({ allow: ['WebSearch'] })).toBe('allow')
    expect(await by({ allow: ['WebSearch'], deny: ['mcp__find'] })).toBe('deny')
    expect(await by({ allow: ['WebSearch'], deny: ['mcp__find__web'] })).toBe('deny')
    expect(await by({ allow: ['WebSearch'], ask: ['mcp__find__web'] })).toBe('ask')
    expect(await by({ allow: ['mcp__find'] })).toBe('allow')
    expect(await by({ allow: ['mcp__find'], deny: ['WebSearch'] })).toBe('deny')
    const permissions = createPermissions({ cwd: '/project', searchTool: 'mcp__find__web', deny: ['mcp__find'] })
    expect(permissions.denies(request({}))).toContain('mcp__find')
  })

  test('open nothing in the sandbox', () => {
    const rules = { allow: ['WebSearch(domain:a.com)'], deny: ['WebSearch(domain:b.com)'] }
    expect(createPermissions({ cwd: '/project', ...rules }).domains()).toEqual({ allowed: [], denied: [] })
  })

  test('block everything that is denied', () => {
    const label = fc.constantFrom('a', 'b', 'api-1', 'com')
    const host = fc.array(label, { minLength: 1, maxLength: 4 }).map((labels) => [...labels, 'com'].join('.'))
    const part = fc.constantFrom('a', 'b', '*', 'api-*', '*b')
    const pattern = fc.array(part, { minLength: 1, maxLength: 3 }).map((labels) => [...labels, 'com'].join('.'))
    fc.assert(
      fc.property(pattern, host, (denied, found) => {
        const permissions = createPermissions({ cwd: '/project', deny: [`WebSearch(domain:${denied})`] })
        const bounds = permissions.searchBounds()
        const isBlocked = bounds.blocked.some((domain) => found === domain || found.endsWith(`.${domain}`))
        expect(!bounds.denies(found) || isBlocked).toBe(true)
      }),
      { numRuns: 500 },
    )
  })

  test('let a search that may find nothing denied find nothing denied', () => {
    const label = fc.constantFrom('a', 'b', 'api-1', 'com')
    const host = fc.array(label, { minLength: 1, maxLength: 4 }).map((labels) => [...labels, 'com'].join('.'))
    const part = fc.constantFrom('a', 'b', '*', 'api-*', 'com')
    const pattern = fc.array(part, { minLength: 2, maxLength: 4 }).map((labels) => labels.join('.'))
    fc.assert(
      fc.property(pattern, host, fc.nat(3), (denied, found, above) => {
        const { mayFindDenied, denies, blocked } = createPermissions({
          cwd: '/project',
          deny: [`WebSearch(domain:${denied})`],
        }).searchBounds()
        if (!denies(found)) return
        const labels = found.split('.')
        expect(mayFindDenied(labels.slice(Math.min(above, labels.length - 1)).join('.'))).toBe(true)
        const isBlocked = blocked.some((domain) => found === domain || found.endsWith(`.${domain}`))
        expect(isBlocked || mayFindDenied()).toBe(true)
      }),
      { numRuns: 500 },
    )
  })

  test('apply at once if a user adds them with an answer', () => {
    const permissions = createPermissions({ cwd: '/project' })
    permissions.addRules('deny', ['WebSearch(domain:a.com)'])
    expect(permissions.searchBounds().blocked).toEqual(['a.com'])
    const learned = [{ type: 'addRules', behavior: 'deny', rules: [{ toolName: 'WebSearch', ruleContent: 'domain:b.com' }], destination: 'session' }] as const
    expect(permissions.searchBounds({ learned }).denies('x.b.com')).toBe(true)
  }) // prettier-ignore
})
