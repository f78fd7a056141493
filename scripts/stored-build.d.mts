export declare function storedBuild<Made>(file: string, key: string): Made | undefined
export declare function storeBuild(
  file: string,
  key: string,
  inputs: readonly string[],
  startedAt: number,
  made: unknown,
): void
