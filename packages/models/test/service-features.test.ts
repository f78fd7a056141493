import { describe, expect, test } from 'vitest'
import { ownServices } from './support/features/builtin-services.ts'
import { scenarios } from './support/features/scenarios.ts'
import { shownBy } from './support/features/service.ts'

// Tests R-TABLE-2 and R-TABLE-3 of docs/spec: the features of each service through our own adapters, as complete runs
// of `query`.

describe.each(ownServices.map((service) => [service.title, service] as const))('%s', (_title, service) => {
  test.each(shownBy(service))('%s', async (column, by) => {
    await expect(scenarios[column](service, by)).resolves.toBe(undefined)
  })
})
