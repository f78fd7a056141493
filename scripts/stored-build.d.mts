export declare function storedBuild(file: string, key: string): unknown
export declare function storeBuild(
  file: string,
  key: string,
  inputs: readonly string[],
  startedAt: number,
  made: unknown,
): void
