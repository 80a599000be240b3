CREATE TABLE "svc"."connection_credentials" (
	"connection_id" text NOT NULL,
	"owner" text NOT NULL,
	"version" integer NOT NULL,
	"state" text NOT NULL,
	"scopes" text,
	"expires_at" timestamp with time zone,
	"problem" text,
	"lease_id" uuid,
	"lease_until" timestamp with time zone,
	"set_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "connection_credentials_connection_id_owner_pk" PRIMARY KEY("connection_id","owner")
);
--> statement-breakpoint
CREATE TABLE "svc"."connection_sign_ins" (
	"state_hash" text PRIMARY KEY NOT NULL,
	"connection_id" text NOT NULL,
	"owner" text NOT NULL,
	"expires_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "svc"."connection_uses" (
	"connection_id" text NOT NULL,
	"kind" text NOT NULL,
	"name" text NOT NULL,
	"last_used_at" timestamp with time zone NOT NULL,
	CONSTRAINT "connection_uses_connection_id_kind_name_pk" PRIMARY KEY("connection_id","kind","name")
);
--> statement-breakpoint
CREATE TABLE "svc"."connections" (
	"id" text PRIMARY KEY NOT NULL,
	"provider" text NOT NULL,
	"auth" text NOT NULL,
	"per" text NOT NULL,
	"title" text,
	"settings" jsonb NOT NULL,
	"created_by" text NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "svc"."connection_credentials" ADD CONSTRAINT "connection_credentials_connection_id_connections_id_fk" FOREIGN KEY ("connection_id") REFERENCES "svc"."connections"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "svc"."connection_sign_ins" ADD CONSTRAINT "connection_sign_ins_connection_id_connections_id_fk" FOREIGN KEY ("connection_id") REFERENCES "svc"."connections"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "svc"."connection_uses" ADD CONSTRAINT "connection_uses_connection_id_connections_id_fk" FOREIGN KEY ("connection_id") REFERENCES "svc"."connections"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "connection_sign_ins_by_expiry" ON "svc"."connection_sign_ins" USING btree ("expires_at");