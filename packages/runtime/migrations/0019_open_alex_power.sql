ALTER TABLE "svc"."session_turns" ADD COLUMN "input_tokens" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "svc"."session_turns" ADD COLUMN "output_tokens" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "svc"."session_turns" ADD COLUMN "cost" double precision;--> statement-breakpoint
ALTER TABLE "svc"."session_turns" ADD COLUMN "epoch" bigint DEFAULT 9007199254740991 NOT NULL;