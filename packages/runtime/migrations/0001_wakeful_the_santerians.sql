CREATE TABLE "svc"."session_messages" (
	"session_id" uuid NOT NULL,
	"n" integer NOT NULL,
	"id" text NOT NULL,
	"run_id" uuid NOT NULL,
	"message" jsonb NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "session_messages_session_id_n_pk" PRIMARY KEY("session_id","n")
);
--> statement-breakpoint
CREATE TABLE "svc"."session_turns" (
	"run_id" uuid PRIMARY KEY NOT NULL,
	"session_id" uuid NOT NULL,
	"total_tokens" bigint DEFAULT 0 NOT NULL,
	"ended_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "svc"."sessions" (
	"id" uuid PRIMARY KEY NOT NULL,
	"agent" text NOT NULL,
	"name" text NOT NULL,
	"kind" text NOT NULL,
	"state" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"turns" integer DEFAULT 0 NOT NULL,
	"input_tokens" bigint DEFAULT 0 NOT NULL,
	"output_tokens" bigint DEFAULT 0 NOT NULL,
	"total_tokens" bigint DEFAULT 0 NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"last_active_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "svc"."session_messages" ADD CONSTRAINT "session_messages_session_id_sessions_id_fk" FOREIGN KEY ("session_id") REFERENCES "svc"."sessions"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "svc"."session_turns" ADD CONSTRAINT "session_turns_session_id_sessions_id_fk" FOREIGN KEY ("session_id") REFERENCES "svc"."sessions"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "session_messages_by_id" ON "svc"."session_messages" USING btree ("session_id","id");--> statement-breakpoint
CREATE INDEX "session_turns_by_session" ON "svc"."session_turns" USING btree ("session_id","run_id");--> statement-breakpoint
CREATE UNIQUE INDEX "sessions_by_name" ON "svc"."sessions" USING btree ("agent","name");--> statement-breakpoint
CREATE INDEX "sessions_by_activity" ON "svc"."sessions" USING btree ("last_active_at","id");