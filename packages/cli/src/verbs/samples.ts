/** An id as boxes make them, for examples. */
export const SAMPLE_ID = '0192f3b4-0000-7000-8000-000000000000';
